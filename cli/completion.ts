import { Argument } from "@commander-js/extra-typings";
import { examples, type Group } from "./command/group.ts";
import { scripts } from "./completion/scripts.ts";

/** `tidemill completion`. */
export function define(completion: Group): void {
	completion
		.addArgument(
			new Argument("<shell>").choices(["bash", "zsh", "fish"] as const),
		)
		.addHelpText(
			"after",
			examples(
				"source <(tidemill completion bash)   # in ~/.bashrc",
				"source <(tidemill completion zsh)    # in ~/.zshrc, after compinit",
				"tidemill completion fish > ~/.config/fish/completions/tidemill.fish",
			),
		)
		.action((shell) => {
			process.stdout.write(scripts[shell]);
		});
}
