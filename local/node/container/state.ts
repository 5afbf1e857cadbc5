/** The state of one container, before its translation to Kubernetes' terms. */
export type ContainerState =
	| { phase: "waiting"; reason: string; message?: string }
	| { phase: "running"; startedAtMs: number; pid: number | undefined }
	| {
			phase: "terminated";
			exitCode: number;
			signal?: number;
			/** One word for machines. */
			reason: string;
			message?: string;
			/** Absent for a container that never ran. */
			startedAtMs?: number;
			finishedAtMs: number;
			pid?: number | undefined;
	  };
