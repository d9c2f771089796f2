import { runCommand } from '../../verification/command.ts';
import { startServers } from './servers.ts';

const program = { name: 'npm run contract --', startServers };
process.exitCode = await runCommand(program, process.argv.slice(2));
