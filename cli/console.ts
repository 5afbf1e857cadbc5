import { requestToken } from "../api/resources/tokens.ts";
import { codesOf, issueCode } from "../packages/service/sign-in-codes.ts";
import { chooseCluster } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { isLocalApi } from "./command/identity.ts";
import { print } from "./command/output.ts";

/** A working day. The console then asks for a new sign-in. */
const sessionSeconds = 12 * 3_600;
const account = { namespace: "default", name: "tidemill-console" };

/** `tidemill console`. */
export function define(group: CommandGroup): void {
	group
		.addHelpText(
			"after",
			"\nOf a local Tidemill (make up), the address signs a browser in, once, within ten minutes. It gives the rights of tidemill-editor and tidemill-admin in the namespace default, for 12 hours. Of any other, the page asks for a token, or for a sign-in at your provider.",
		)
		.addHelpText(...examples("tidemill console"))
		.action(async (options) => {
			const { TIDEMILL_API_URL: url, TIDEMILL_HOME: home } = process.env;
			if (!url)
				throw new CommandError(
					"the console is a page of the REST API. Set TIDEMILL_API_URL to its address, such as https://tidemill.example.com/v1; after make up: source .tidemill/env",
				);
			const page = `${url.replace(/\/+$/, "").replace(/\/v1$/, "")}/console/`;
			if (!home || !isLocalApi(url)) {
				print(`${page}\n`);
				return;
			}
			const { client } = await chooseCluster(options);
			const issuer = { client, account: account.namespace };
			const { token } = await requestToken(
				issuer,
				account.name,
				sessionSeconds,
			);
			const code = await issueCode(codesOf(home), token);
			print(`${page}#${code}\n`);
		});
}
