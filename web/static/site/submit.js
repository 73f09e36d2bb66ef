// The upload page: drop a file anywhere in the field, see it travel, read the answer in words. Without this script the
// form works too.

(() => {
  const form = document.getElementById("submit-form");
  const outcome = document.getElementById("outcome");
  const progress = document.getElementById("progress");
  const button = form.querySelector("button[type=submit]");
  const field = form.querySelector("[data-drop]");
  const input = document.getElementById("file");
  const token = document.getElementById("token");

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const show = (card) => {
    outcome.replaceChildren(card);
    outcome.focus();
  };

  const refusal = (answer) => {
    const card = element("section", "", { class: "card problems", role: "alert" });
    card.append(element("h2", "Not accepted"), element("p", answer.detail));
    const list = element("ol");
    for (const problem of answer.problems ?? []) {
      const item = element("li");
      item.append(
        element("code", problem.path),
        `: expected ${problem.expected}, got ${problem.got}. ${problem.how_to_fix}.`,
      );
      list.append(item);
    }
    if (list.childElementCount) card.append(list);
    return card;
  };

  const receipt = (answer, isNew) => {
    const card = element("section", "", { class: "card", role: "status" });
    card.append(element("h2", `${answer.codec}, version ${answer.version}: ${answer.status}`));
    const where = element("p");
    const reasons = element("ul");
    if (answer.status === "pending") {
      where.append("The submission ", element("code", answer.id), " waits for a moderator.");
    } else if (answer.status === "held") {
      where.append("The submission ", element("code", answer.id), " waits for a moderator, because something in it is ");
      where.append("unusual. Nobody says that it is wrong; you need not send it again:");
      for (const { where: place, text, holds } of answer.warnings) {
        if (holds) reasons.append(element("li", place ? `${place}: ${text}` : text));
      }
    } else if (answer.status === "withdrawn") {
      where.append("It was withdrawn, with a reason that the history of the codec gives. ");
      where.append("Ask a maintainer before you send another.");
    } else if (answer.status === "known") {
      where.append("Somebody else has sent it, and nothing of it is public; who sent it can see what became of it.");
    } else {
      where.append(element("a", "See the submission", { href: `/submissions/${answer.id}` }));
    }
    if (!isNew) card.append(element("p", "This very file was sent before; nothing has changed."));
    const partial = answer.complete ? "" : "; shown as partial";
    const custom = answer.custom ? "; shown as custom, never ranked" : "";
    card.append(
      where,
      ...(reasons.childElementCount ? [reasons] : []),
      element("p", `${answer.clips} clips of ${answer.datasets.join(", ")}, ${answer.failed} failed${partial}${custom}.`),
    );
    const notes = element("ul");
    for (const note of answer.notes) notes.append(element("li", note));
    if (notes.childElementCount) card.append(notes);
    return card;
  };

  const busy = (is) => {
    button.disabled = is;
    progress.hidden = !is;
    if (is) progress.value = 0;
  };

  const finished = (request) => {
    busy(false);
    let answer;
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { detail: `The server answered ${request.status} in a way this page does not understand.` };
    }
    const accepted = request.status === 200 || request.status === 201;
    show(accepted ? receipt(answer, request.status === 201) : refusal(answer));
  };

  const send = (file) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.api);
    request.setRequestHeader("Content-Type", "application/zip");
    if (token.value.trim()) request.setRequestHeader("Authorization", `Bearer ${token.value.trim()}`);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress.value = event.loaded / event.total;
    });
    request.addEventListener("load", () => finished(request));
    request.addEventListener("error", () => {
      busy(false);
      show(refusal({ detail: "The connection was lost. Send the file again: it is recognised if it arrived." }));
    });
    busy(true);
    request.send(file);
  };

  form.addEventListener("submit", (event) => {
    const file = input.files[0];
    if (!file) return;
    event.preventDefault();
    if (file.size > Number(form.dataset.limit)) {
      const limit = Number(form.dataset.limit) / 1e6;
      show(refusal({ detail: `Expected at most ${limit} MB, got ${(file.size / 1e6).toFixed(1)} MB.` }));
      return;
    }
    send(file);
  });

  for (const kind of ["dragenter", "dragover"]) {
    field.addEventListener(kind, (event) => {
      event.preventDefault();
      field.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) field.addEventListener(kind, () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
})();
