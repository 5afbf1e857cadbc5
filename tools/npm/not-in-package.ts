import { CommandError } from "../../cli/command/errors.ts";

// In place of each process of an installation: whoever imports one learns at once where it is.
throw new CommandError(
	"this is a part of an installation, and the npm package has only the commands that people use. It runs in Tidemill's image: https://github.com/tidemill/tidemill/blob/main/docs/install.md says how",
);
