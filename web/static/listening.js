// Only one sound at a time.

function setUpListening() {
  document.addEventListener(
    "play",
    (event) => {
      for (const audio of document.querySelectorAll("audio")) if (audio !== event.target) audio.pause();
    },
    true, // media events do not bubble
  );
}
