import { writeRootDirectory } from "./root-directory.ts";

/* `node tools/image/write-files.ts <folder>`: the files of the image, for the Dockerfile. */
const [folder] = process.argv.slice(2);
if (!folder)
	throw new Error("Say where to: node tools/image/write-files.ts <folder>");
await writeRootDirectory(folder);
