import { parentPort, workerData } from "node:worker_threads";
import type { JudgeOrder } from "./thread-messages.ts";
import { JudgeLoop } from "./validation-loop.ts";

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
