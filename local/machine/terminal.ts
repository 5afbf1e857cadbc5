/** What a person sees during a start: one line per part, with the time it has taken. */
export interface Terminal {
	/** Shows what a part is doing. The first call starts its clock. */
	update(part: string, text: string): void;
	/** The part is done: its line stays. */
	done(part: string, text: string): void;
	/** A line of its own. */
	say(text: string): void;
	/** Keeps the lines on the screen and continues below them. */
	settle(): void;
}

interface Line {
	text: string;
	startedMs: number;
	/** When it was done. */
	endedMs?: number;
	/** Until when it prints nothing, where lines can't be redrawn. */
	silentMs: number;
}

/** Where lines can't be redrawn (a file, CI), only a part that takes as long as this has a line, and another whenever its time has doubled. */
const slowMs = 10_000;
const redrawMs = 100;

/** Redraws lines in place on a terminal and prints them one after another elsewhere. */
export function createTerminal(
	out: NodeJS.WriteStream = process.stdout,
	now: () => number = Date.now,
): Terminal {
	// A closed terminal must not end the supervisor.
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
		const goesOn = before && !before.endedMs;
		const line: Line = {
			text,
			startedMs: goesOn ? before.startedMs : time,
			silentMs: goesOn ? before.silentMs : slowMs,
			...(isDone && { endedMs: time }),
		};
		lines.set(part, line);
		changed = true;
		if (out.isTTY) return;
		const tookMs = time - line.startedMs;
		const isDue = isDone ? line.silentMs > slowMs : tookMs >= line.silentMs;
		if (!isDue) return;
		while (line.silentMs <= tookMs) line.silentMs *= 2;
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
