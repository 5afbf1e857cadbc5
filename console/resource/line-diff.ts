export interface DiffLine {
	/** "…" stands for lines that are left out. */
	sign: " " | "+" | "-" | "…";
	text: string;
}

const around = 2;
/** Of the table below, 4 MB. Texts that differ in more are shown as replaced. */
const maxCells = 2 ** 20;

/** The lines that differ, in order, each among those around it. Nothing for equal texts. */
export function lineDiff(before: string, after: string): DiffLine[] {
	const [a, b] = [before.split("\n"), after.split("\n")];
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	let tail = 0;
	while (
		tail < Math.min(a.length, b.length) - head &&
		a[a.length - 1 - tail] === b[b.length - 1 - tail]
	)
		tail++;
	const all: DiffLine[] = [
		...a.slice(0, head).map(same),
		...changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
		...a.slice(a.length - tail).map(same),
	];
	const isNear = (at: number) =>
		all
			.slice(Math.max(0, at - around), at + around + 1)
			.some(({ sign }) => sign !== " ");
	return all.flatMap((line, at): DiffLine[] => {
		if (isNear(at)) return [line];
		return at > 0 && isNear(at - 1) && at < all.length - 1
			? [{ sign: "…", text: "" }]
			: [];
	});
}

function same(text: string): DiffLine {
	return { sign: " ", text };
}

/** By the longest common subsequence. */
function changed(a: string[], b: string[]): DiffLine[] {
	const width = b.length + 1;
	const replaced = [
		...a.map((text): DiffLine => ({ sign: "-", text })),
		...b.map((text): DiffLine => ({ sign: "+", text })),
	];
	if ((a.length + 1) * width > maxCells) return replaced;
	const common = new Uint32Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			common[i * width + j] =
				a[i] === b[j]
					? common[(i + 1) * width + j + 1]! + 1
					: Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
	const found: DiffLine[] = [];
	let [i, j] = [0, 0];
	while (i < a.length || j < b.length) {
		if (i < a.length && j < b.length && a[i] === b[j]) {
			found.push(same(a[i++]!));
			j++;
		} else if (
			j === b.length ||
			(i < a.length &&
				common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
		)
			found.push({ sign: "-", text: a[i++]! });
		else found.push({ sign: "+", text: b[j++]! });
	}
	return found;
}
