type BadgeTone = "good" | "bad" | "busy" | "warning" | "quiet";

/** Of the words in `status` and `conditions`. A word that a later version adds is quiet. */
const tones: Record<string, BadgeTone> = {
	Active: "good",
	Ready: "good",
	Succeeded: "good",
	Verified: "good",
	Loaded: "good",
	accepted: "good",
	stored: "good",
	loaded: "good",
	released: "good",
	imported: "good",
	Running: "busy",
	Pending: "busy",
	Waiting: "busy",
	Checking: "busy",
	Deleting: "warning",
	Suspended: "warning",
	quarantined: "warning",
	Held: "warning",
	Error: "bad",
	Failed: "bad",
	NotReady: "bad",
	refused: "bad",
	Cancelled: "quiet",
	Expired: "quiet",
};

const marks: Record<BadgeTone, string> = {
	good: "M3.500 8.500l3 3 6-7",
	bad: "M4 4l8 8M12 4l-8 8",
	busy: "M8 4v4l3 2",
	warning: "M8 3.500v5.500M8 12v.500",
	quiet: "M4 8h8",
};

/** A state as a word, with a colour and a mark that say the same. */
export function StatusBadge({
	status,
	label = status,
	tone = tones[status] ?? "quiet",
}: {
	status: string;
	label?: string;
	tone?: BadgeTone;
}) {
	return (
		<span class={`badge badge-${tone}`}>
			<svg viewBox="0 0 16 16" aria-hidden="true">
				<path d={marks[tone]} />
			</svg>
			{label}
		</span>
	);
}
