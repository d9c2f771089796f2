export { recomputeUsernameKeys as up } from '../../username-keys.ts';
