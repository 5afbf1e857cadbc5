// A local Tidemill, as for test/local-mode/.
export { default } from "../local-mode/setup.ts";
