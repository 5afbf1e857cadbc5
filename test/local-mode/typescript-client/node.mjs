// The quick start as a program of its own that has installed @tidemill/client.
import { Tidemill } from "@tidemill/client";
import { quickStart } from "./quick-start.mjs";

const seen = await quickStart(new Tidemill());
const node = process.version.split(".")[0];
console.log(JSON.stringify({ ...seen, node }));
