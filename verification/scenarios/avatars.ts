import { crc32, deflateSync } from 'node:zlib';

/** Returns a PNG of 8 x 8 pixels, or one with padding so that it has this many bytes. */
export function png(size?: number): Buffer<ArrayBuffer> {
  const header = Buffer.from('0000000800000008' + '0802000000', 'hex');
  const rows = Buffer.alloc(8 * (1 + 8 * 3), 0x55);
  for (let row = 0; row < 8; row += 1) rows[row * 25] = 0;
  const parts = [
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ];
  const bytes = parts.reduce((sum, each) => sum + each.length, 0);
  // A private chunk, which decoders ignore.
  if (size !== undefined) parts.splice(2, 0, chunk('prVt', Buffer.alloc(size - bytes - 12)));
  return Buffer.concat(parts);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}

/** A grey JPEG of 16 x 8 pixels. */
export const jpeg = Buffer.from(
  '/9j/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKAB/9k=',
  'base64',
);
