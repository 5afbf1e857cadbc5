import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Logger } from "./log.ts";
import { pause } from "./pause.ts";
import { SettingError, type Settings } from "./settings.ts";

/** How often the files are read. kubelet needs up to two minutes to write a changed Secret into them. */
const pollMs = 3_000;
/** After refusals, however many there are. */
const minReadMs = 500;
/** What Kubernetes lets a Secret hold. */
const maxBytes = 1024 * 1024;

/** The content of files by path, or why a file can't be read. */
type FileTexts = ReadonlyMap<string, { text: string } | { fault: string }>;

interface SecretFilesOptions<T> {
	/** For logs: the setting that names the files. */
	setting: string;
	/** The files' paths, asked for at each reading. */
	files: () => readonly string[];
	/**
	 * Makes the value. Throws {@link SettingError} if the files don't hold one, as between the two writes of a pair.
	 * @param read a file's text; throws an Error that says why it can't be read.
	 * @param files that were read.
	 */
	parse: (read: (file: string) => string, files: readonly string[]) => T;
	log: Logger;
}

/** Files that don't hold what they must. */
export class SecretFileError extends SettingError {
	override name = "SecretFileError";
	readonly files: () => readonly string[];

	constructor(message: string, files: () => readonly string[]) {
		super(message);
		this.files = files;
	}
}

/**
 * A value that is read from files, such as those of a mounted Secret, and read again whenever they change. Files that don't
 * hold a value change nothing: the former one stays, with a warning. The files are read, not watched: kubelet replaces all of
 * a Secret's files at once by a symbolic link, of which a watch of a file hears nothing.
 */
export class SecretFiles<T> {
	readonly #options: SecretFilesOptions<T>;
	readonly #listeners = new Set<(value: T) => void>();
	readonly #polling: NodeJS.Timeout;
	#texts: FileTexts;
	#value: T;
	#readAtMs = performance.now();

	/** Throws {@link SecretFileError} if the files don't hold a value yet. */
	constructor(options: SecretFilesOptions<T>) {
		this.#options = options;
		this.#texts = readTwice(options.files);
		try {
			this.#value = parsed(options, this.#texts);
		} catch (error) {
			if (!(error instanceof SettingError)) throw error;
			throw new SecretFileError(error.message, options.files);
		}
		this.#polling = setInterval(() => this.#read(), pollMs).unref();
	}

	get value(): T {
		return this.#value;
	}

	/** Called after each change of the value. */
	onChange(listener: (value: T) => void): void {
		this.#listeners.add(listener);
	}

	/** Reads the files now, because somebody refused the value. */
	refused(): void {
		if (performance.now() - this.#readAtMs >= minReadMs) this.#read();
	}

	close(): void {
		clearInterval(this.#polling);
	}

	#read(): void {
		const { setting, files, log } = this.#options;
		this.#readAtMs = performance.now();
		if (sameTexts(readTexts(files()), this.#texts)) return;
		const texts = readTwice(files);
		if (sameTexts(texts, this.#texts)) return;
		// Remembered even if they hold no value, so that the warning comes once.
		this.#texts = texts;
		try {
			this.#value = parsed(this.#options, texts);
		} catch (error) {
			if (!(error instanceof SettingError)) throw error;
			log.warn(
				{ setting, reason: error.message },
				"changed files can't be used; the former content stays in use until they can",
			);
			return;
		}
		log.info({ setting }, "read changed files");
		for (const listener of this.#listeners) listener(this.#value);
	}
}

/**
 * Tries until the files hold what is needed, at each of their changes. A process that ended instead would be started again
 * ever more seldom. When the signal ends the wait, the fault of the files is thrown.
 * @param onFault is told in words what is wrong.
 */
export async function whenFilesWork<T>(
	act: () => T | Promise<T>,
	onFault: (fault: string) => unknown,
	log: Logger,
	signal = new AbortController().signal,
): Promise<T> {
	for (;;)
		try {
			return await act();
		} catch (error) {
			if (!(error instanceof SecretFileError) || signal.aborted) throw error;
			log.error(`waiting for files to be put right: ${error.message}`);
			await onFault(error.message);
			const before = readTwice(error.files);
			do await pause(pollMs, signal);
			while (!signal.aborted && sameTexts(readTexts(error.files()), before));
		}
}

/** The files of a folder that a Secret is mounted at. Kubelet's own begin with two dots. */
export function filesIn(directory: string): string[] {
	try {
		return readdirSync(directory)
			.filter((name) => !name.startsWith("."))
			.sort()
			.map((name) => join(directory, name));
	} catch {
		return [];
	}
}

/** What a Secret's value is: `echo value | base64`, and most editors, end it with a line end, which is not part of it. */
export function withoutLineEnd(text: string): string {
	return text.replace(/\r?\n$/, "");
}

/** kubelet may replace the files between two of them, so two readings must agree. */
function readTwice(files: () => readonly string[]): FileTexts {
	let texts = readTexts(files());
	for (let tries = 0; tries < 3; tries++) {
		const again = readTexts(files());
		if (sameTexts(texts, again)) break;
		texts = again;
	}
	return texts;
}

function readTexts(files: readonly string[]): FileTexts {
	return new Map(files.map((file) => [file, readText(file)]));
}

function readText(file: string): { text: string } | { fault: string } {
	try {
		const { size } = statSync(file);
		if (size > maxBytes) return { fault: `it has ${size} bytes` };
		return { text: readFileSync(file, "utf8") };
	} catch (error) {
		return { fault: (error as Error).message };
	}
}

function parsed<T>({ parse }: SecretFilesOptions<T>, texts: FileTexts): T {
	const read = (file: string) => {
		const found = texts.get(file)!;
		if ("fault" in found) throw new Error(found.fault);
		return found.text;
	};
	return parse(read, [...texts.keys()]);
}

function sameTexts(a: FileTexts, b: FileTexts): boolean {
	const texts = (all: FileTexts) => JSON.stringify([...all]);
	return texts(a) === texts(b);
}

/** Room for an organisation's authorities, which go into the Secrets of Jobs. A bundle of all public ones has 250 KB. */
const maxAuthorityBytes = 64 * 1024;

/**
 * The PEM certificates in the file that the variable names, which is read again whenever it changes; undefined when the
 * variable isn't set. Throws {@link SettingError}.
 */
export function readAuthorities(
	settings: Settings,
	name: string,
	log: Logger,
): SecretFiles<string> | undefined {
	const file = settings.optional(name);
	if (file === undefined) return undefined;
	return new SecretFiles({
		setting: name,
		files: () => [file],
		parse: (read) => authoritiesIn(file, name, read),
		log,
	});
}

/** The certificates of a file that the variable names. Throws {@link SettingError}. */
export function authoritiesIn(
	file: string,
	name: string,
	read: (file: string) => string,
): string {
	const refuse = (fault: string) =>
		new SettingError(
			`${name} is "${file}", ${fault}. It must name a file of at most ${maxAuthorityBytes / 1024} KiB with the PEM certificates of the authorities to trust.`,
		);
	let pem: string;
	try {
		pem = read(file);
	} catch (error) {
		throw refuse(`which can't be read (${(error as Error).message})`);
	}
	if (pem.length > maxAuthorityBytes)
		throw refuse(`which has ${pem.length} bytes`);
	const certificates = certificatesIn(pem);
	if (certificates.length === 0) throw refuse("which holds no certificate");
	for (const [index, certificate] of certificates.entries())
		try {
			new X509Certificate(certificate);
		} catch (error) {
			throw refuse(
				`whose certificate ${index + 1} is broken (${(error as Error).message})`,
			);
		}
	return certificates.join("\n");
}

let publicAuthorities: readonly string[] | undefined;

/**
 * From now on every TLS connection of this process also trusts these authorities, including those of SDKs and fetch
 * (setDefaultCACertificates, Node 24.5). Called again, they replace the earlier ones.
 */
export function trustAuthorities(pem: string): void {
	publicAuthorities ??= getCACertificates("default");
	setDefaultCACertificates([...publicAuthorities, ...certificatesIn(pem)]);
}

/** Drops the text that people write between certificates. */
function certificatesIn(pem: string): string[] {
	return (
		pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ??
		[]
	);
}
