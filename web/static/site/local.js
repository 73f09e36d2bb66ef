// A board of local runs shows new ones by itself: it asks for the revision and loads the page anew when that changes.

(() => {
  const SECONDS = 3;
  const pages = ["/", "/local", "/custom", "/conditions"];
  let seen = null;

  const busy = () => document.hidden || document.activeElement?.matches("input, select") || [...document.querySelectorAll("audio")].some((audio) => !audio.paused);

  async function look() {
    const answer = await fetch("/local/revision").catch(() => null); // the service has ended: the page stays
    const revision = answer?.ok ? await answer.text() : seen;
    seen ??= revision;
    if (revision !== seen && !busy()) location.reload();
  }

  if (pages.includes(location.pathname)) setInterval(look, SECONDS * 1000);
})();
