// Loaded before the program: its clock begins at CRASH_CLOCK_MS and goes on at its own pace, so that each round is the same night.
const RealDate = Date;
const realNow = Date.now;
const ahead = Number(process.env.CRASH_CLOCK_MS) - realNow();
globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(realNow() + ahead);
    else super(...parts);
  }
  static now() {
    return realNow() + ahead;
  }
};
