// A file that somebody gave, as a question: its bytes as a data address, or of a large photograph a smaller copy.

const [MOST, SIDE] = [450_000, 768]; // bytes that are sent as they are, and pixels of a copy

/** Why a file cannot be a question of this kind; empty if it can. */
export function refused(file: File, accepts: string): string {
  const kind = accepts.split("/")[0] ?? "";
  if (accepts && file.type.startsWith(`${kind}/`)) return "";
  const wanted = kind === "image" ? "a picture" : kind === "audio" ? "a sound" : "text";
  return `“${file.name}” is not what this model reads: give it ${wanted}.`;
}

export async function held(file: File): Promise<string> {
  if (file.size <= MOST) return addressOf(file);
  if (!file.type.startsWith("image/")) {
    throw new Error(`“${file.name}” is too long a sound for the studio: cut it to a few seconds.`);
  }
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.92);
}

export function addressOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("That file could not be read."));
    reader.readAsDataURL(file);
  });
}
