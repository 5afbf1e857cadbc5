/* `make clients`: Git ignores what it writes, so that no change of the API has a second copy in a client. */
import { writePythonClient } from "./python-client.ts";
import { writeTypescriptClient } from "./typescript-client.ts";

writePythonClient();
writeTypescriptClient();
