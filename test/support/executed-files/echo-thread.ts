import { parentPort } from "node:worker_threads";

/* A worker thread that answers what it is sent. */

const echo = (message: unknown) => parentPort!.postMessage(message);
parentPort!.on("message", echo);
