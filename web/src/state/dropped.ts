// A file that somebody gave, as a question: its bytes as a data address, or of a large one a smaller copy.

import { wave } from "../pure/wave";

const [MOST, SIDE] = [450_000, 768]; // bytes that are sent as they are, and pixels of a copy
export const RATE = 16_000; // samples a second of a copy: enough for speech, and it stays small
const SECONDS = Math.floor(MOST / (2 * RATE)); // of a copy

/** Why a file cannot be a question of this kind; empty if it can. */
export function refused(file: File, accepts: string): string {
  const kind = accepts.split("/")[0] ?? "";
  if (accepts && file.type.startsWith(`${kind}/`)) return "";
  const wanted = kind === "image" ? "a picture" : kind === "audio" ? "a sound" : "text";
  return `“${file.name}” is not what this model reads: give it ${wanted}.`;
}

export async function held(file: File): Promise<string> {
  if (file.size <= MOST) return addressOf(file);
  if (!file.type.startsWith("image/")) return copied(file);
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.92);
}

/** A large sound with one channel at our rate, as long as it is short enough. */
async function copied(file: File): Promise<string> {
  const { samples, seconds } = await oneChannel(file, SECONDS + 1).catch(() => {
    throw new Error(`“${file.name}” cannot be read by this browser: save it as WAV.`);
  });
  if (seconds > SECONDS) {
    const lasts = `lasts ${Math.round(seconds)} seconds`;
    throw new Error(`“${file.name}” ${lasts}, and the studio takes ${SECONDS}: cut it.`);
  }
  return addressOf(new Blob([wave(samples, RATE)], { type: "audio/wav" }));
}

/** What is heard in a file of any form: at most so many seconds of one channel at our rate, and its length. */
export async function oneChannel(
  whole: Blob,
  longest: number,
): Promise<{ samples: Float32Array; seconds: number }> {
  const context = new AudioContext();
  try {
    const sound = await context.decodeAudioData(await whole.arrayBuffer());
    const length = Math.max(1, Math.min(longest * RATE, Math.floor(sound.duration * RATE)));
    const narrow = new OfflineAudioContext(1, length, RATE);
    const source = narrow.createBufferSource();
    source.buffer = sound;
    source.connect(narrow.destination);
    source.start();
    const samples = (await narrow.startRendering()).getChannelData(0);
    return { samples, seconds: sound.duration };
  } finally {
    void context.close();
  }
}

export function addressOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("That file could not be read."));
    reader.readAsDataURL(file);
  });
}
