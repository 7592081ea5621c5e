// What a client's script says: one check a line, and whether it held.
export function check(what, ok, more = "") {
  const why = ok ? "" : ": " + String(more).replace(/\s+/g, " ").slice(0, 400);
  console.log(`${ok ? "ok" : "not ok"} ${what}${why}`);
}
export function same(what, got, want) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  check(what, a === b, `${a}, wanted ${b}`);
}
export async function checked(what, fn) {
  try {
    await fn();
  } catch (e) {
    check(what, false, e.stack || e);
  }
}
// The error that this ends with; undefined if it goes well.
export async function failure(promise) {
  try {
    await promise;
  } catch (e) {
    return e;
  }
}
