// A board of local runs shows new ones by itself: it asks for the revision and loads the page anew where its own differs.

(() => {
  const SECONDS = 3;
  const pages = ["/", "/local", "/custom", "/conditions"];
  const own = document.currentScript.dataset.revision; // of the board, and on /local of the runs behind it

  const busy = () => document.hidden || document.activeElement?.matches("input, select") || [...document.querySelectorAll("audio")].some((audio) => !audio.paused);

  async function look() {
    const answer = await fetch("/local/revision").catch(() => null); // the service has ended: the page stays
    if (!answer?.ok) return;
    const revision = await answer.text();
    const same = own.includes(" ") ? revision === own : revision.split(" ")[0] === own;
    if (!same && !busy()) location.reload();
  }

  if (pages.includes(location.pathname)) setInterval(look, SECONDS * 1000);
})();
