import { nameOf } from "../../../packages/warehouses/load/load-day.ts";
import { type DateStep, type DateWords, withoutEventsOf } from "./step.ts";

/** Leaves out of what is in quarantine the events that were released from it, which are rows of another table. */
export function released({
	date,
	isBeside,
}: Pick<DateWords, "date" | "isBeside">): DateStep | undefined {
	const released = date.objects.filter(({ released }) => released);
	if (!isBeside || released.length === 0) return undefined;
	return {
		deciding: released.map(nameOf),
		// Rows that are added came after all that was released.
		on: ({ addition, files }) =>
			addition ? undefined : withoutEventsOf(files("released", released)),
	};
}
