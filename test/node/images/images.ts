import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { pinnedBinaries } from "../../../local/binaries/pinned.ts";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { LocalError } from "../../../local/machine/errors.ts";
import { projectDirectory } from "../../../local/machine/home.ts";
import { writeBinaryArchive } from "./binary-archive.ts";

/** Under the names that the chart gives them, so that it finds them on the node. */
export const images = {
	tidemill: process.env.TIDEMILL_E2E_IMAGE || "ghcr.io/tidemill/tidemill:e2e",
	nats: `docker.io/library/nats:${pinnedBinaries["nats-server"].version}`,
	s3: `ghcr.io/versity/versitygw:v${pinnedBinaries.versitygw.version}`,
	pause: "tidemill.local/pause:e2e",
} as const;

/** Makes the images without any registry. Returns the paths of their archives. */
export async function buildImages(directory: string): Promise<string[]> {
	await mkdir(directory, { recursive: true });
	const archive = (name: string) => join(directory, `${name}.tar`);
	const programs = await resolveBinaries(["nats-server", "versitygw"]);
	const { stdout: catatonit } = await promisify(execFile)("which", [
		"catatonit",
	]);
	writeBinaryArchive(archive("nats"), {
		name: images.nats,
		program: programs["nats-server"],
		entrypoint: ["/nats-server"],
	});
	writeBinaryArchive(archive("s3"), {
		name: images.s3,
		program: programs.versitygw,
		entrypoint: ["/versitygw"],
	});
	// catatonit's -P does what Kubernetes' own pause does.
	writeBinaryArchive(archive("pause"), {
		name: images.pause,
		program: catatonit.trim(),
		entrypoint: ["/catatonit", "-P"],
	});
	await buildTidemill(archive("tidemill"));
	return ["pause", "nats", "s3", "tidemill"].map(archive);
}

/** By `make image`, which needs no image registry with this `BUILDER`. */
async function buildTidemill(archive: string): Promise<void> {
	const script = join(projectDirectory, "tools/image/build.ts");
	const env = {
		...process.env,
		IMAGE: images.tidemill,
		BUILDER: "here",
		ARCHIVE: archive,
	};
	try {
		await promisify(execFile)(process.execPath, [script], {
			env,
			maxBuffer: 64 * 1024 * 1024,
		});
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new LocalError(`make image failed:\n${stdout}\n${stderr}`);
	}
}
