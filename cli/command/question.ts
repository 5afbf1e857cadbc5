import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks a person in a terminal. What answers a hidden question isn't shown. Ctrl-C and the end of the input end the command with 130. */
export async function ask(
	question: string,
	{ isHidden = false, input = process.stdin, output = process.stderr } = {},
): Promise<string> {
	let isMuted = false;
	const shown = new Writable({
		write: (chunk, _, done) => {
			if (!isMuted) output.write(chunk);
			done();
		},
	});
	const lines = createInterface({ input, output: shown, terminal: true });
	const leave = () => {
		output.write("\nStopped.\n");
		process.exit(130);
	};
	lines.once("SIGINT", leave).once("close", leave);
	try {
		const answer = lines.question(question);
		isMuted = isHidden;
		return (await answer).trim();
	} finally {
		lines.off("close", leave);
		lines.close();
		if (isHidden) output.write("\n");
	}
}
