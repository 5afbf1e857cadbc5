import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathOfRoot } from "../../../local/binaries/debian-packages.ts";
import { documentedText } from "../../support/examples/documented.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";

/** The prefix that docs/console.md has in its example. */
export const prefix = "/tidemill";

/** Debian's nginx with TLS before the API, by what docs/console.md tells people to write. Returns what ends it. */
export async function startNginx({
	host,
	port,
	api,
	certificate: { certFile, keyFile },
}: {
	/** An address of this machine. */
	host: string;
	port: number;
	/** URL of the API's Service. */
	api: string;
	certificate: { certFile: string; keyFile: string };
}): Promise<() => Promise<void>> {
	const location = documentedText("docs/console.md nginx");
	const service = "http://tidemill-api.tidemill-system.svc/";
	if (!location.includes(service))
		throw new Error(`docs/console.md doesn't name ${service}`);
	const directory = await temporaryDirectory("nginx");
	const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
		(name) => `${name}_temp_path ${directory}/${name};`,
	);
	const file = join(directory, "nginx.conf");
	await writeFile(
		file,
		`daemon off; pid ${directory}/pid; error_log stderr; user root;
events {}
http {
	access_log off;
	${places.join("\n\t")}
	server {
		listen ${host}:${port} ssl;
		ssl_certificate ${certFile};
		ssl_certificate_key ${keyFile};
		${location.replace(service, `${api}/`)}
	}
}
`,
	);
	const nginx = spawn("nginx", ["-c", file, "-p", directory], {
		env: { ...process.env, PATH: pathOfRoot },
		stdio: ["ignore", "ignore", "pipe"],
	});
	let said = "";
	nginx.stderr.on("data", (text) => {
		said += text;
	});
	const deadline = Date.now() + 30_000;
	while (!(await isOpen(host, port))) {
		if (nginx.exitCode !== null || Date.now() > deadline)
			throw new Error(`nginx doesn't listen: ${said}`);
		await delay(50);
	}
	return async () => {
		nginx.kill("SIGTERM");
		await once(nginx, "exit");
	};
}

async function isOpen(host: string, port: number): Promise<boolean> {
	const socket = connect({ host, port });
	try {
		await once(socket, "connect");
		return true;
	} catch {
		return false;
	} finally {
		socket.destroy();
	}
}
