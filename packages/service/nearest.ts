/**
 * The one of `names` that somebody may have meant: with at most a third of its letters missing, wrong, too many or swapped with
 * the next, or one that begins so. Undefined if none is near.
 */
export function nearest(
	given: string,
	names: readonly string[],
): string | undefined {
	const [first] = names
		// Bounds the work: each letter too many counts.
		.filter((name) => given.length - name.length <= mostEdits(name))
		.map((name) => ({
			name,
			distance:
				given.length > 2 && name.startsWith(given) ? 1 : edits(given, name),
		}))
		.filter(({ name, distance }) => distance <= mostEdits(name))
		.sort((a, b) => a.distance - b.distance);
	return first?.name;
}

/** ` Did you mean "shop"?`, or nothing. */
export function didYouMean(given: string, names: readonly string[]): string {
	const meant = nearest(given, names);
	return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}

function mostEdits(name: string): number {
	return Math.max(1, name.length / 3);
}

/** How many letters differ, by optimal string alignment: two swapped neighbours count once. */
function edits(a: string, b: string): number {
	const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		for (let j = 1; j <= b.length; j++) {
			const cost = a[i - 1] === b[j - 1] ? 0 : 1;
			const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
			row[j] = Math.min(
				rows[i - 1]![j]! + 1,
				row[j - 1]! + 1,
				rows[i - 1]![j - 1]! + cost,
				...(i > 1 && j > 1 && isSwap ? [rows[i - 2]![j - 2]! + 1] : []),
			);
		}
		rows.push(row);
	}
	return rows[a.length]![b.length]!;
}
