// An apiserver that takes what the chart renders.
export { default } from "../control-plane/setup.ts";
