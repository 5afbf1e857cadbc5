import { parentPort } from "node:worker_threads";
import { rowsOfGroup } from "./object-rows.ts";
import { rowsOfFrames } from "./row.ts";
import type { ReadAnswer, ReadQuestion } from "./row-thread.ts";

// A thread of RowThread: bytes come in, and the chosen rows go out.
parentPort!.on("message", async (question: ReadQuestion) =>
	parentPort!.postMessage(await answerTo(question)),
);

async function answerTo(question: ReadQuestion): Promise<ReadAnswer> {
	try {
		const rows =
			"group" in question
				? await rowsOfGroup(question.group, question.choice)
				: rowsOfFrames(question.frames, question.choice);
		return { rows };
	} catch (error) {
		// What JSON.parse says quotes the text.
		if (error instanceof SyntaxError) return { fault: "a row isn't JSON" };
		return { fault: error instanceof Error ? error.message : String(error) };
	}
}
