import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	cpSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

/**
 * Writes an image that holds one static program, as a file that `ctr images import` and `docker load` take.
 * https://github.com/moby/docker-image-spec/blob/main/spec.md#combined-image-json--filesystem-changeset-format
 */
export function writeBinaryArchive(
	archive: string,
	image: { name: string; program: string; entrypoint: string[] },
): void {
	const scratch = `${archive}.files`;
	const files = join(scratch, "files");
	mkdirSync(files, { recursive: true });
	try {
		const program = join(files, basename(image.entrypoint[0]!));
		cpSync(image.program, program);
		const layer = join(scratch, "layer.tar");
		tar(layer, files);
		const digest = createHash("sha256").update(readFileSync(layer));
		write(scratch, "config.json", {
			architecture: process.arch === "x64" ? "amd64" : process.arch,
			os: "linux",
			config: { Entrypoint: image.entrypoint },
			rootfs: { type: "layers", diff_ids: [`sha256:${digest.digest("hex")}`] },
		});
		write(scratch, "manifest.json", [
			{
				Config: "config.json",
				RepoTags: [image.name],
				Layers: ["layer.tar"],
			},
		]);
		rmSync(files, { recursive: true });
		tar(archive, scratch);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

function tar(archive: string, directory: string): void {
	const owner = ["--owner=0", "--group=0", "--mode=a+rX"];
	execFileSync("tar", [
		"--create",
		`--file=${archive}`,
		...owner,
		`--directory=${directory}`,
		...readdirSync(directory),
	]);
}

function write(directory: string, name: string, content: unknown): void {
	writeFileSync(join(directory, name), JSON.stringify(content));
}
