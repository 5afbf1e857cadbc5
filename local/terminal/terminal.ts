/** What a person sees while things start: one line per part, with how long it has taken. */
export interface Terminal {
	/** Shows what a part is doing; the first call starts its clock. */
	update(part: string, text: string): void;
	/** The part is done: its line stays. */
	done(part: string, text: string): void;
	/** A line of its own. */
	say(text: string): void;
	/** What stands there stays; the next line begins below it. */
	settle(): void;
}

interface Line {
	text: string;
	startedMs: number;
	/** When it was done. */
	endedMs?: number;
	/** When it was last printed, where lines can't be redrawn. */
	printedMs: number;
}

/** Where lines can't be redrawn (a file, CI), a part that takes long tells how far it is this often. */
const repeatMs = 10_000;
const redrawMs = 100;

/** Lines that are redrawn in place on a terminal, and printed one after another anywhere else. */
export function createTerminal(
	out: NodeJS.WriteStream = process.stdout,
	now: () => number = Date.now,
): Terminal {
	// A terminal that was closed must not take the supervisor with it.
	out.on("error", () => {});
	const lines = new Map<string, Line>();
	let drawn = 0;
	let changed = false;

	const erase = () => {
		if (drawn > 0) out.write(`\x1b[${drawn}A\x1b[0J`);
		drawn = 0;
	};
	const draw = () => {
		erase();
		for (const [part, line] of lines)
			out.write(`${describe(part, line, now()).slice(0, out.columns - 1)}\n`);
		drawn = lines.size;
		changed = false;
	};
	const timer = out.isTTY
		? setInterval(() => {
				const running = [...lines.values()].some((line) => !line.endedMs);
				if (changed || running) draw();
			}, redrawMs)
		: undefined;
	timer?.unref();

	const set = (part: string, text: string, isDone: boolean) => {
		const time = now();
		const before = lines.get(part);
		const line: Line = {
			text,
			startedMs: before && !before.endedMs ? before.startedMs : time,
			printedMs: before?.printedMs ?? Number.NEGATIVE_INFINITY,
			...(isDone && { endedMs: time }),
		};
		lines.set(part, line);
		changed = true;
		const isDue =
			isDone ||
			kind(before?.text) !== kind(text) ||
			time - line.printedMs >= repeatMs;
		if (out.isTTY || !isDue) return;
		line.printedMs = time;
		out.write(`${describe(part, line, time)}\n`);
	};

	return {
		update: (part, text) => set(part, text, false),
		done: (part, text) => set(part, text, true),
		say: (text) => {
			if (!out.isTTY) {
				out.write(`${text}\n`);
				return;
			}
			erase();
			out.write(`${text}\n`);
			draw();
		},
		settle: () => {
			if (out.isTTY && changed) draw();
			drawn = 0;
			lines.clear();
		},
	};
}

function describe(part: string, line: Line, nowMs: number): string {
	const seconds = ((line.endedMs ?? nowMs) - line.startedMs) / 1000;
	return `  ${line.endedMs ? "✓" : "·"} ${part.padEnd(24)}${line.text.padEnd(34)} ${seconds.toFixed(1)} s`;
}

/** Progress that differs in numbers alone is of one kind. */
function kind(text: string | undefined): string | undefined {
	return text?.replace(/[\d.]+/g, "0");
}
