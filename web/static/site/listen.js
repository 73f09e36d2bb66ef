// A question of a listening test: all sounds run together from one clock, and all but one are silent, so that switching
// keeps the position to the sample. Without this script the page has plain players and numbers.

(() => {
  const form = document.getElementById("question");
  const player = form.querySelector(".player");
  const transport = player.querySelector(".transport");
  const position = player.querySelector(".position");
  const loopStart = player.querySelector(".loop-start");
  const loopEnd = player.querySelector(".loop-end");
  const status = player.querySelector(".player-status");
  const buttons = [...form.querySelectorAll(".play")];
  const sliders = [...form.querySelectorAll(".slider")];
  // BS.1534-3: 5 ms out, then 5 ms in, by a raised cosine; never a cross-fade; loops of half a second or more
  const FADE = 0.005;
  const LEAST = 0.5;
  const IN = Float32Array.from({ length: 33 }, (_, step) => (1 - Math.cos((Math.PI * step) / 32)) / 2);
  const OUT = IN.map((value) => 1 - value);

  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.connect(context.destination);
  let buffers = [];
  let voices = [];
  let chosen = -1;
  let playing = false;
  let offset = 0; // where playing began, seconds
  let began = 0; // when, on the context's clock
  let firstPlay = 0;
  const heard = new Set();

  const duration = () => (buffers.length ? Math.min(...buffers.map((buffer) => buffer.duration)) : 0);
  const loop = () => {
    const from = (loopStart.value / 1000) * duration();
    return [from, Math.min(Math.max((loopEnd.value / 1000) * duration(), from + LEAST), duration())];
  };
  const now = () => {
    if (!playing) return offset;
    const [from, to] = loop();
    const at = offset + Math.max(0, context.currentTime - began);
    return at < to ? at : from + ((at - from) % (to - from));
  };

  const silence = () => {
    for (const voice of voices) {
      voice.source.stop();
      voice.source.disconnect();
      voice.gain.disconnect();
    }
    voices = [];
  };

  const begin = () => {
    silence();
    const [from, to] = loop();
    if (offset < from || offset >= to) offset = from;
    began = context.currentTime + 0.02; // all in one moment, not yet past
    voices = buffers.map((buffer, number) => {
      const source = context.createBufferSource();
      const gain = context.createGain();
      source.buffer = buffer;
      source.loop = true;
      source.loopStart = from;
      source.loopEnd = to;
      gain.gain.value = 0;
      if (number === chosen) gain.gain.setValueCurveAtTime(IN, began, FADE);
      source.connect(gain).connect(analyser);
      source.start(began, offset);
      return { source, gain };
    });
  };

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };
  const labelOf = (number) => buttons[number].textContent.replace("Play ", "").trim().split(/\s/)[0];

  const show = () => {
    transport.textContent = playing ? "Pause" : "Play";
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", String(playing && number === chosen)));
    say(playing ? `Playing ${labelOf(chosen)}` : "Paused");
  };

  const play = async () => {
    if (!buffers.length) return;
    await context.resume();
    if (chosen < 0) chosen = 0;
    if (!firstPlay) firstPlay = performance.now();
    heard.add(chosen);
    playing = true;
    begin();
    show();
  };

  const pause = () => {
    offset = now();
    playing = false;
    silence();
    show();
  };

  const choose = (number) => {
    if (number < 0 || number >= buttons.length || !buffers.length) return;
    const was = chosen;
    chosen = number;
    const slider = buttons[number].parentElement.querySelector(".slider");
    if (slider && document.activeElement?.parentElement !== slider.closest("li")) slider.focus();
    if (!playing) {
      play();
      return;
    }
    heard.add(number);
    if (was !== number) {
      const at = context.currentTime;
      voices.forEach(({ gain: { gain } }, place) => {
        gain.cancelScheduledValues(at);
        if (place === was) {
          gain.setValueCurveAtTime(OUT, at, FADE);
        } else {
          gain.setValueAtTime(0, at);
          if (place === number) gain.setValueCurveAtTime(IN, at + FADE, FADE);
        }
      });
    }
    show();
  };

  const restart = () => {
    if (playing) begin();
  };

  transport.addEventListener("click", () => (playing ? pause() : play()));
  buttons.forEach((button, number) =>
    button.addEventListener("click", () => (playing && chosen === number ? pause() : choose(number))),
  );
  position.addEventListener("input", () => {
    offset = (position.value / 1000) * duration();
    restart();
  });
  for (const field of [loopStart, loopEnd]) {
    field.addEventListener("input", () => {
      offset = now();
      const least = Math.min(1000, Math.ceil((1000 * LEAST) / duration()));
      if (field === loopStart) field.value = Math.min(field.value, 1000 - least);
      if (Number(loopEnd.value) < Number(loopStart.value) + least) loopEnd.value = Number(loopStart.value) + least;
      restart();
    });
  }

  const rate = (slider, number) => {
    const labels = slider.dataset.labels.split(" ");
    slider.value = number;
    slider.classList.add("rated");
    slider.setAttribute("aria-valuetext", `${number}, ${labels[Math.min(4, Math.floor(number / 20))]}`);
  };
  for (const slider of sliders) {
    const number = document.getElementById(slider.dataset.for);
    const own = buttons.indexOf(slider.closest("li").querySelector(".play"));
    // BS.1534-3: only the sound that is heard can be rated; who moves another slider hears that one
    const hear = () => {
      if (chosen !== own || !playing) choose(own);
    };
    slider.addEventListener("input", () => {
      hear();
      number.value = slider.value;
      rate(slider, slider.value);
    });
    // who leaves it where it is rates it so: a click without a move gives no event of its own
    slider.addEventListener("pointerup", () => slider.dispatchEvent(new Event("input")));
    number.addEventListener("input", () => {
      hear();
      if (number.value !== "" && number.validity.valid) rate(slider, number.value);
    });
    if (number.value !== "") rate(slider, number.value); // kept by the browser over a reload
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    const types = target.matches("input[type=number], select, textarea");
    const presses = target.matches("button, summary, a, input[type=radio]");
    if (event.key === " " && !types && !presses) {
      event.preventDefault();
      if (playing) pause();
      else play();
    } else if (!types && /^[0-9]$/.test(event.key)) {
      const number = buttons.findIndex((button) => button.dataset.key === event.key);
      if (number >= 0) choose(number);
    } else if (!types && (event.key === "n" || event.key === "p")) {
      choose((chosen + (event.key === "n" ? 1 : buttons.length - 1)) % buttons.length);
    }
  });

  form.addEventListener("submit", (event) => {
    const missing = buttons.findIndex((_, number) => !heard.has(number));
    if (buffers.length && missing >= 0) {
      event.preventDefault();
      say(`Play ${labelOf(missing)} before you go on.`);
      buttons[missing].focus();
      return;
    }
    form.elements.seconds.value = firstPlay ? ((performance.now() - firstPlay) / 1000).toFixed(1) : 0;
  });

  const follow = () => {
    if (playing && duration()) position.value = Math.round((1000 * now()) / duration());
    requestAnimationFrame(follow);
  };

  const load = async () => {
    const answers = await Promise.all(buttons.map((button) => fetch(button.dataset.sound)));
    if (!answers.every((answer) => answer.ok)) throw new Error("not found");
    buffers = await Promise.all(
      answers.map(async (answer) => context.decodeAudioData(await answer.arrayBuffer())),
    );
    for (const field of [transport, position, loopStart, loopEnd]) field.disabled = false;
    say("Ready");
    follow();
  };

  // what tests and curious listeners may look at: the clock, the position and the sound that goes out
  player.listening = { context, analyser, position: now, chosen: () => chosen, playing: () => playing };
  load().catch(() => say("The sounds could not be loaded. Load the page again."));
})();
