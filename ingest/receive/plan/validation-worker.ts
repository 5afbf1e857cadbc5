import { parentPort, workerData } from "node:worker_threads";
import { JudgeLoop } from "./validation-loop.ts";
import type { JudgeOrder } from "./validation-messages.ts";

// The thread of JudgeThread.
const loop = new JudgeLoop(workerData as Int32Array);
parentPort!.on("message", (order: JudgeOrder) => {
	if (order.type === "learn") loop.learn(order.plan);
	else if (order.type === "forget") loop.forget(order.id);
	else {
		const answer = loop.judge(order.batch);
		parentPort!.postMessage(answer, [answer.bytes]);
	}
});
