export { recomputeKeysWithIotaSubscript as up } from '../../username-keys.ts';
