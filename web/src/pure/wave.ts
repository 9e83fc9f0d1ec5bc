// A WAV file of one channel with 16 bits a sample: what every reader of sounds understands.

/** The bytes of the file; samples beyond 1 are as loud as it goes. */
export function wave(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + samples.length * 2);
  const view = new DataView(bytes.buffer);
  const name = (place: number, text: string) =>
    [...text].forEach((letter, index) => view.setUint8(place + index, letter.charCodeAt(0)));
  name(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  name(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // plain integers
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  name(36, "data");
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, index) => {
    const kept = Math.max(-1, Math.min(1, sample));
    view.setInt16(44 + index * 2, Math.round(kept * 32767), true);
  });
  return bytes;
}

/** The loudest sample: 0 where nothing at all was heard. */
export function loudest(samples: Float32Array): number {
  return samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
}

/** Why a microphone gives nothing, in words that say what to do; `name` is the browser's own. */
export function unheard(name: string): string {
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return "The browser does not let this page use the microphone: allow it beside the address, then record again.";
    case "NotFoundError":
    case "OverconstrainedError":
      return "No microphone was found: connect one, or choose a file.";
    case "NotReadableError":
    case "AbortError":
      return "The microphone could not be started; perhaps another program uses it.";
    case "insecure":
      return "A browser lets a page record only at localhost or over https: open the studio there, or choose a file.";
    case "silence":
      return "Nothing was heard: is the microphone muted? Record again, or choose a file.";
    default:
      return "The recording failed: record again, or choose a file.";
  }
}
