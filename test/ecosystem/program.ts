import { execFile } from "node:child_process";

/** What a program prints. Throws the end of what it says if it fails, and ends it after 15 minutes. */
export function outputOf(
	command: string,
	args: string[],
	options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
	const { cwd, env } = options;
	return new Promise((resolve, reject) => {
		execFile(
			command,
			args,
			{
				...(cwd !== undefined && { cwd }),
				env: { ...process.env, ...env },
				maxBuffer: 64 * 1024 ** 2,
				timeout: 900_000,
			},
			(error, out, errors) => {
				if (!error) return resolve(out);
				const said = `${out.slice(-2_000)}${errors.slice(-2_000)}`.trim();
				reject(new Error(`${command} failed: ${said || error.message}`));
			},
		);
	});
}
