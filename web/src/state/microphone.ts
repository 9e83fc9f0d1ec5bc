// What somebody says, as a question: recorded by the browser, made one channel at one rate, and kept as WAV.

import { loudest, unheard, wave } from "../pure/wave";
import { addressOf, oneChannel, RATE } from "./dropped";

export const LONGEST = 10; // seconds
const HEARD = 1e-4; // less is no microphone at all

export interface Recording {
  /** End it: the sound as a data address. */
  stop(): Promise<string>;
  /** Forget it. */
  cancel(): void;
}

/** Begin to record; what goes wrong is an error in words. */
export async function record(): Promise<Recording> {
  if (!navigator.mediaDevices?.getUserMedia || typeof MediaRecorder === "undefined") {
    throw new Error(unheard("insecure"));
  }
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(told);
  const release = () => stream.getTracks().forEach((track) => track.stop());
  const parts: Blob[] = [];
  let recorder: MediaRecorder;
  try {
    recorder = new MediaRecorder(stream);
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.start();
  } catch (error) {
    release();
    return told(error);
  }
  const ended = new Promise<void>((resolve) => (recorder.onstop = () => resolve()));
  const end = () => {
    if (recorder.state !== "inactive") recorder.stop();
    return ended.finally(release);
  };
  return {
    cancel: () => void end(),
    stop: () =>
      end()
        .then(() => heard(new Blob(parts, { type: recorder.mimeType })))
        .catch(told),
  };
}

/** What was recorded in whatever form, as one channel at our rate. */
async function heard(whole: Blob): Promise<string> {
  if (!whole.size) throw new DOMException("", "silence");
  const { samples } = await oneChannel(whole, LONGEST);
  if (loudest(samples) < HEARD) throw new DOMException("", "silence");
  return addressOf(new Blob([wave(samples, RATE)], { type: "audio/wav" }));
}

function told(error: unknown): never {
  throw new Error(unheard(error instanceof Error ? error.name : ""));
}
