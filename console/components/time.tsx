import { useEffect, useState } from "preact/hooks";
import { unsafeOnTerminal } from "../../packages/escapes/terminal.ts";
import { components as words } from "../messages/components.ts";

const utc = new Intl.DateTimeFormat("en-CA", {
	timeZone: "UTC",
	dateStyle: "short",
	timeStyle: "medium",
	hourCycle: "h23",
});
const local = new Intl.DateTimeFormat(undefined, {
	dateStyle: "medium",
	timeStyle: "long",
});

/** A time in UTC, as Tidemill counts dates; pointing at it, or `inFull`, shows it in the visitor's zone as well. */
export function Time({
	at,
	inFull = false,
}: {
	at: string | undefined;
	inFull?: boolean;
}) {
	const date = at === undefined ? undefined : new Date(at);
	if (!date || Number.isNaN(date.getTime()))
		return <span class="quiet">{words.notYet}</span>;
	const text = `${utc.format(date).replace(", ", " ")} UTC`;
	// Arabic and Hebrew have marks of direction in dates, which aren't a stranger's.
	const here = local.format(date).replace(unsafeOnTerminal, "");
	return (
		<span class="time">
			<time dateTime={at} title={here}>
				{text}
			</time>
			{inFull && <span class="quiet"> ({here})</span>}
		</span>
	);
}

/** Now, in milliseconds, as of the last half minute: what says "a minute ago" is shown again. */
export function useMinutes(): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 30_000);
		return () => clearInterval(timer);
	}, []);
	return now;
}
