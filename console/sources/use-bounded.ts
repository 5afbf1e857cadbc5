import { useEffect, useRef, useState } from "preact/hooks";
import { readsAMinute, waitBeforeReadMs } from "./activity.ts";

/** The value, which changes a few times in a minute at most: what is read again for it costs requests. */
export function useBounded(value: string): string {
	const [shown, setShown] = useState(value);
	const reads = useRef<number[]>([]);
	useEffect(() => {
		if (value === shown) return;
		const timer = setTimeout(
			() => {
				reads.current = [...reads.current, Date.now()].slice(-readsAMinute);
				setShown(value);
			},
			waitBeforeReadMs(reads.current, Date.now()),
		);
		return () => clearTimeout(timer);
	}, [value, shown]);
	return shown;
}
