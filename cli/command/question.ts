import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks a person in a terminal. What answers a hidden question isn't shown. */
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
	try {
		const answer = lines.question(question);
		isMuted = isHidden;
		return (await answer).trim();
	} finally {
		lines.close();
		if (isHidden) output.write("\n");
	}
}
