import { shellWord } from "../packages/escapes/shell.ts";
import type { LocalHome } from "./machine/home.ts";
import type { LocalPorts } from "./machine/ports.ts";
import type { LocalSecrets } from "./secrets.ts";
import { natsUrl } from "./servers/nats.ts";
import { s3Region } from "./servers/s3.ts";

/** The variables with which a person's shell reaches a local Tidemill. */
export function environment(local: {
	home: LocalHome;
	ports: LocalPorts;
	secrets: LocalSecrets;
	bucket: string;
	kubeconfig: string;
}): Record<string, string> {
	const { home, ports, secrets } = local;
	return {
		TIDEMILL_HOME: home.directory,
		KUBECONFIG: local.kubeconfig,
		TIDEMILL_API_URL: `http://127.0.0.1:${ports.api}/v1`,
		TIDEMILL_RECEIVE_URL: `http://127.0.0.1:${ports.receive}`,
		TIDEMILL_S3_ENDPOINT: `http://127.0.0.1:${ports.s3}`,
		TIDEMILL_S3_BUCKET: local.bucket,
		AWS_REGION: s3Region,
		AWS_ACCESS_KEY_ID: secrets.s3.accessKeyId,
		AWS_SECRET_ACCESS_KEY: secrets.s3.secretAccessKey,
		NATS_URL: natsUrl({ port: ports.nats, passwords: secrets.nats }, "admin"),
	};
}

/**
 * A file for `source`: exports variables and puts `bin` (kubectl, tidemill) first on PATH, once. What such a file of another home
 * has set, it takes back first.
 */
export function envFile(
	variables: Record<string, string>,
	bin: string,
): string {
	const all = {
		...variables,
		TIDEMILL_PATH: bin,
		TIDEMILL_VARIABLES: Object.keys(variables).join(" "),
	};
	const exports = Object.entries(all).map(
		([name, value]) => `export ${name}=${shellWord(value)}`,
	);
	return `# Written by make up. It holds passwords: don't share it.
while [ "\${TIDEMILL_PATH:-}" ]; do
	case ":$PATH:" in *":$TIDEMILL_PATH:"*) ;; *) break ;; esac
	PATH=:$PATH:
	PATH=\${PATH%%":$TIDEMILL_PATH:"*}:\${PATH#*":$TIDEMILL_PATH:"}
	PATH=\${PATH#:}
	PATH=\${PATH%:}
done
[ -z "\${TIDEMILL_VARIABLES:-}" ] || eval "unset $TIDEMILL_VARIABLES"
${exports.join("\n")}
export PATH="$TIDEMILL_PATH:$PATH"
`;
}
