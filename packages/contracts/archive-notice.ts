/**
 * While archive works on a request of operator's, it sends such notices, and then the answer. After some seconds without
 * either, archive has died, and its answer will never come.
 */
export interface ArchiveNotice {
	working: true;
	/** How far archive is, for people. */
	progress?: string;
}

export const noticeIntervalMs = 1_000;
