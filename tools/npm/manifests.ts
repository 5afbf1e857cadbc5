import { hash } from "node:crypto";
import { stringify } from "yaml";

/** A version whose tarball is a file of its release on GitHub. */
export interface PackageRelease {
	version: string;
	tarball: Buffer;
}

const home = "https://github.com/tidemill/tidemill";
const summary = "Webhooks into your data warehouse, minutes later";

/** Throws for what is no version (semver.org): it stands in Ruby, whose texts run code. */
function addressOf({ version }: PackageRelease): string {
	if (!/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/.test(version))
		throw new Error(
			`The version is "${version}", but must be one such as 1.2.3`,
		);
	return `${home}/releases/download/v${version}/tidemill-cli-${version}.tgz`;
}

function checksumOf({ tarball }: PackageRelease): string {
	return hash("sha256", tarball);
}

/**
 * The plugin for krew (krew.sigs.k8s.io/docs/developer-guide/plugin-manifest). Not for Windows, where krew makes an .exe of
 * the command and only a script is in the package: npm's own scripts work there.
 */
export function krewManifest(release: PackageRelease): string {
	return stringify({
		apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
		kind: "Plugin",
		metadata: { name: "tidemill" },
		spec: {
			version: `v${release.version}`,
			homepage: home,
			shortDescription: summary,
			description:
				"Create webhook URLs, load their events into tables, and follow both, with the\nrights of your kubeconfig.\n",
			caveats: "Needs Node.js 22.12 or later on the PATH.\n",
			platforms: [
				{
					selector: {
						matchExpressions: [
							{ key: "os", operator: "In", values: ["linux", "darwin"] },
						],
					},
					uri: addressOf(release),
					sha256: checksumOf(release),
					files: [{ from: "package/*", to: "." }],
					bin: "bin/kubectl-tidemill.js",
				},
			],
		},
	});
}

/** The formula for Homebrew (docs.brew.sh/Node-for-Formula-Authors). */
export function brewFormula(release: PackageRelease): string {
	return `class Tidemill < Formula
  desc "${summary}"
  homepage "${home}"
  url "${addressOf(release)}"
  sha256 "${checksumOf(release)}"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tidemill --version")
  end
end
`;
}
