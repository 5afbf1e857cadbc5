// A control plane of their own, since they kill it.
export { default } from "../../control-plane/setup.ts";
