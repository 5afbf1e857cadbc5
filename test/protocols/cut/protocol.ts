import {
	type CutGroup,
	decideCut,
	inheritNumbers,
} from "../../../ingest/archive/decide/cut.ts";
import { resume, verifyStream } from "../../../ingest/archive/decide/resume.ts";

/** What a mutation of archive's protocol can change. */
export interface Protocol {
	decideCut: typeof decideCut;
	inheritNumbers: typeof inheritNumbers;
	verifyStream: typeof verifyStream;
	resume: typeof resume;
	/** Who finds a cut record follows it. */
	followsRecords: boolean;
	/** Who deletes a source says so in the bucket. */
	hasTombstones: boolean;
	/** Who deletes a source has all archived first that is in the stream. */
	flushesFirst: boolean;
	hasRandomNames: boolean;
	purgesFirst: boolean;
	/** The folder of a group's object. */
	folderOf: (group: CutGroup) => string;
	/** Objects-done is read after the cuts are listed. */
	readsDoneLate: boolean;
}

export const protocol: Protocol = {
	decideCut,
	inheritNumbers,
	verifyStream,
	resume,
	hasTombstones: true,
	flushesFirst: true,
	followsRecords: true,
	hasRandomNames: false,
	purgesFirst: false,
	folderOf: ({ sourceKey, quarantined }) =>
		quarantined ? `${sourceKey}/quarantine` : sourceKey,
	readsDoneLate: false,
};
