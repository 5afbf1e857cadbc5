/**
 * Prepares a warehouse's own server for `make up`, which starts it if a variable with the type's name in capitals is 1.
 * A type that has one exports this as `prepare` of `local-server.ts` in its folder. Throws `SettingError` if this machine can't run it.
 */
export type PrepareLocalServer = (
	place: LocalServerPlace,
) => Promise<LocalWarehouse>;

export interface LocalServerPlace {
	/** For the server alone. */
	directory: string;
	/** On the loopback. */
	port: number;
	/** The same at every start. */
	password: string;
	/** Says what takes long. */
	onInstall: (text: string) => void;
	/** Does what makes something in a folder that other starts share, while none of them does. */
	alone<T>(folder: string, action: () => Promise<T>): Promise<T>;
}

export interface LocalWarehouse {
	command: string;
	/** Never secrets: every user of the machine can see arguments. */
	args: string[];
	/** Never throws. */
	isReady: () => Promise<boolean>;
	/** Time from SIGTERM to SIGKILL. */
	stopTimeoutMs: number;
	/** Of the Secret with which Destinations reach it: in the namespace default, and of the type's name. */
	secret: { type: string; stringData: Record<string, string> };
	/** Where it may go, as {@link file://./binding.ts} reads it. */
	hosts: string;
	/** Of a person's shell. */
	variables: Record<string, string>;
	/** For people, without a password. */
	address: string;
}
