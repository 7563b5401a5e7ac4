// What is shown when: a place from 0 (the start) to the number of steps, between which messages are on their way.

const speeds = [0.25, 0.5, 1, 2, 4, 8];

class Player {
  /** onPlace(place), onPlaying(isPlaying) and onSpeed(speed) are told of what changes, onRest() when a move has ended. */
  constructor({ onPlace, onPlaying, onSpeed, onRest }) {
    Object.assign(this, { onPlace, onPlaying, onSpeed, onRest });
    this.place = 0;
    this.goal = null;  // of a single step
    this.isPlaying = false;
    this.speed = 1;
    // Long ones are played faster: a minute at most.
    this.secondsPerStep = Math.min(1.8, Math.max(0.35, 60 / Math.max(stepCount, 1)));
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
  }

  setPlace(place) {
    this.place = Math.min(Math.max(place, 0), stepCount);
    this.onPlace(this.place);
  }

  goTo(place) {
    this.pause();
    this.setPlace(place);
  }

  play() {
    if (stepCount === 0) return;
    if (this.place >= stepCount) this.setPlace(0);
    this.goal = stepCount;
    this.start(true);
  }

  pause() {
    this.goal = null;
    if (this.isPlaying) {
      this.isPlaying = false;
      this.onPlaying(false);
    }
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  /** To the end of the step under way, or of the next one. */
  forward() {
    const next = Math.min(Math.floor(this.place + 1e-6) + 1, stepCount);
    const underWay = this.goal;
    this.pause();
    if (underWay !== null && Math.abs(underWay - next) < 1e-9) {
      this.setPlace(next);  // asked again while it moves: at once
    } else if (next > this.place) {
      this.goal = next;
      this.start(false);
    }
  }

  back() {
    this.goTo(Math.ceil(this.place - 1e-6) - 1);
  }

  start(isPlaying) {
    if (isPlaying !== this.isPlaying) {
      this.isPlaying = isPlaying;
      this.onPlaying(isPlaying);
    }
    if (this.still.matches && !isPlaying) {
      const goal = this.goal;
      this.goal = null;
      this.setPlace(goal);
      this.onRest();
      return;
    }
    this.before = performance.now();
    if (!this.isRunning) {
      this.isRunning = true;
      requestAnimationFrame((now) => this.tick(now));
    }
  }

  tick(now) {
    if (this.goal === null) {
      this.isRunning = false;
      return;
    }
    const passed = Math.min(Math.max(now - this.before, 0) / 1000, 0.25);
    this.before = now;
    this.setPlace(Math.min(this.place + (passed * this.speed) / this.secondsPerStep, this.goal));
    if (this.place >= this.goal) {
      this.pause();
      this.onRest();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  setSpeed(speed) {
    this.speed = speed;
    this.onSpeed(speed);
  }

  faster(by) {
    const at = Math.min(Math.max(speeds.indexOf(this.speed) + by, 0), speeds.length - 1);
    this.setSpeed(speeds[at]);
  }
}
