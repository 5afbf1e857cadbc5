const hourMs = 3_600_000;
const hour = new Date(Math.floor(Date.now() / hourMs) * hourMs - 12 * hourMs);

/** A time of the day (UTC) that doesn't come while tests run, at whatever time they do: it was half a day ago. */
export const dailySlot = {
	/** For a Pipeline's `schedule.updateTime`. */
	updateTime: hour.toISOString().slice(11, 16),
	/** When it was last. */
	lastMs: hour.getTime(),
};
