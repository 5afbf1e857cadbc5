/**
 * Imported by Node before receive's own code (`--import`): receive then lives as many days from now as the file named by
 * TEST_CLOCK says, and so does what NATS tells it of its time, unless TEST_CLOCK_ALONE is set. Archive, operator and the
 * servers stay in the present.
 */
import { readFileSync } from "node:fs";

const file = process.env.TEST_CLOCK;
if (file && process.argv[2] === "receive") {
	const movedMs = () => Number(readFileSync(file, "utf8")) * 86_400_000;
	const { now, parse } = Date;
	Date.now = () => now() + movedMs();
	if (!process.env.TEST_CLOCK_ALONE)
		Date.parse = (text) => parse(text) + movedMs();
}
